"""Agents: a model, its instructions and its tools."""

from rollgrid.agent.agent import Agent
from rollgrid.agent.context import RetryNotice, RunContext, RunObserver, SilentObserver
from rollgrid.agent.functions import Tool
from rollgrid.agent.run import Message, Metrics, RunOutput, RunStatus, ToolCall, ToolExecution

__all__ = [
    "Agent",
    "Message",
    "Metrics",
    "RetryNotice",
    "RunContext",
    "RunObserver",
    "RunOutput",
    "RunStatus",
    "SilentObserver",
    "Tool",
    "ToolCall",
    "ToolExecution",
]
