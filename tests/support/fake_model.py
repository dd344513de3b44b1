"""A stand-in for the model process: speaks its protocol, answers chat completions with what the test says.

Run as a program. `FAKE_MODEL` in the environment is JSON: `mode` (`serve`, `exit`, `error`, `silent`), `replies`
(texts, the last one repeats; `CRASH` ends the process in the middle of a request), `requests` (a file that gets a JSON
line for each request and, first of all, one with the environment).
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def main() -> None:
    plan = json.loads(os.environ["FAKE_MODEL"])
    replies = list(plan.get("replies", ["hello"]))

    def note(line: dict[str, object]) -> None:
        with open(plan["requests"], "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    note({"omp": os.environ.get("OMP_WAIT_POLICY"), "pid": os.getpid(), "argv": sys.argv[1:]})
    mode = plan.get("mode", "serve")
    if mode == "exit":
        sys.exit(3)
    if mode == "error":
        print(json.dumps({"ready": False, "error": "RuntimeError: not a GGUF file"}), flush=True)
        sys.exit(1)
    if mode == "silent":
        time.sleep(60)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            note({"body": body, "connection": self.headers.get("connection")})
            text = replies.pop(0) if len(replies) > 1 else replies[0]
            if text == "CRASH":
                os._exit(139)
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
            data = json.dumps({"id": "c", "model": "/a/path.gguf", "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            # As the real one does when it is asked to.
            self.send_header("connection", self.headers.get("connection", "keep-alive"))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    print(json.dumps({"ready": True, "base_url": url, "api_key": "secret-of-this-life"}), flush=True)
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
