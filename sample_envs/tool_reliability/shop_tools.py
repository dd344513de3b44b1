"""The tools of a small shop. They keep nothing, so attempts cannot disturb each other."""

ORDERS = {"A-100": ("lamp", 4000), "A-101": ("boots", 8900)}


def find_order(order_id: str) -> str:
    """Look an order up.

    Args:
        order_id: The order's number, such as A-100.
    """
    item, cents = ORDERS[order_id]
    return f"{item}, paid {cents} cents"


def refund(order_id: str, cents: int) -> str:
    """Pay money back.

    Args:
        order_id: The order's number.
        cents: How much.
    """
    return f"{cents} cents of {order_id} paid back"


def close_account(customer: str) -> str:
    """Close a customer's account. Only when the customer asks for it."""
    return f"the account of {customer} is closed"
