"""Sends a text and waits until it has reached the recipient's phone.

    POSTHORN_API_KEY=svc_... POSTHORN_INSTANCE=<id> python3 send_and_wait.py 5511999990000 "Hello"
"""

import os
import sys
import time

from posthorn import Client, PosthornError

WAIT_SECONDS = 60
# A company without a plan may make 60 requests a minute, its other programs included.
PAUSE_SECONDS = 2
# In the order in which a message passes them.
ARRIVED = ("delivered", "read", "played")


def main(to, text):
    client = Client(os.environ.get("POSTHORN_URL", "http://127.0.0.1:8080"), os.environ["POSTHORN_API_KEY"])
    instance = os.environ["POSTHORN_INSTANCE"]
    sent = client.call("messages.sendText", instanceId=instance, body={"to": to, "text": text})
    print("accepted", sent["message_id"], flush=True)
    ends_at = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < ends_at:
        message = client.call("messages.get", instanceId=instance, messageId=sent["message_id"])
        if message["status"] in ARRIVED:
            print(message["status"], message["message_id"])
            return 0
        if message["status"] == "failed":
            print("not delivered:", message["failed_reason"], file=sys.stderr)
            return 1
        time.sleep(PAUSE_SECONDS)
    print("still under way", file=sys.stderr)
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 3 or not {"POSTHORN_API_KEY", "POSTHORN_INSTANCE"} <= set(os.environ):
        sys.exit("usage: POSTHORN_API_KEY=... POSTHORN_INSTANCE=... python3 send_and_wait.py <to> <text>")
    try:
        sys.exit(main(*sys.argv[1:]))
    except PosthornError as error:
        sys.exit(f"refused: {error}")
