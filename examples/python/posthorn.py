"""A client of Posthorn that needs nothing but Python 3: it reads the service's OpenAPI document and offers its operations.

    client = Client("http://127.0.0.1:8080", api_key="svc_...")
    sent = client.call("messages.sendText", instanceId=instance, body={"to": "5511999990000", "text": "Hello"})

`python3 posthorn.py` lists the operations and their parameters.
"""

import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

TRIES = 4
# A longer wait is left to the program.
WAIT_MAX_SECONDS = 60
# The same request may succeed later. Unless it may be repeated, only 429 is tried again.
RETRIED_STATUSES = {408, 425, 429, 500, 502, 503, 504}


class PosthornError(Exception):
    """A call that did not succeed. `status` is 0 when there was no answer."""

    def __init__(self, status, code, message, idempotency_key=None):
        super().__init__(f"{code}: {message}")
        self.status = status
        self.code = code
        # The same send with this key again makes no second message.
        self.idempotency_key = idempotency_key


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key to another address."""

    def redirect_request(self, *_):
        return None


class Client:
    def __init__(self, base_url, api_key=None, document=None, timeout_seconds=30):
        self.base_url = base_url.rstrip("/")
        self.api_key = api_key
        self.timeout_seconds = timeout_seconds
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._document = document or self._fetch("GET", "/openapi.json")
        self.operations = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, operations in self._document["paths"].items()
            for method, operation in operations.items()
        }

    def call(self, operation_id, body=None, **arguments):
        """Calls an operation. Parameters of path, query and headers are given by their names, as in the document
        (a header in snake_case: idempotency_key). Answers the parsed JSON, None for 204, and bytes for anything else."""
        if operation_id not in self.operations:
            raise TypeError(f"there is no operation {operation_id}")
        method, path, operation = self.operations[operation_id]
        query, headers = {}, {}
        for parameter in self.parameters(operation_id):
            place, name = parameter["in"], parameter["name"]
            argument = name.lower().replace("-", "_") if place == "header" else name
            if place == "header" and name == "Idempotency-Key" and argument not in arguments:
                # One key for all tries: that is what makes repeating a send harmless.
                headers[name] = str(uuid.uuid4())
            elif argument in arguments:
                value = _text(arguments.pop(argument))
                if place == "path":
                    path = path.replace("{%s}" % name, urllib.parse.quote(value, safe=""))
                elif place == "query":
                    query[name] = value
                elif place == "header":
                    headers[name] = value
            elif parameter.get("required"):
                raise TypeError(f"{operation_id} needs {argument}")
        if arguments:
            raise TypeError(f"{operation_id} takes no {', '.join(arguments)}")
        if query:
            path += "?" + urllib.parse.urlencode(query)
        return self._fetch(method, path, headers, body)

    def parameters(self, operation_id):
        """The parameters of an operation, references resolved."""
        return [self._resolve(each) for each in self.operations[operation_id][2].get("parameters", [])]

    def _resolve(self, value):
        while "$ref" in value:
            found = self._document
            for step in value["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            value = found
        return value

    def _fetch(self, method, path, headers=None, body=None):
        headers = {"Accept": "application/json", **(headers or {})}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        if self.api_key:
            headers["X-API-Key"] = self.api_key
        key = headers.get("Idempotency-Key")
        is_repeatable = method in ("GET", "PUT", "DELETE") or key is not None
        request = urllib.request.Request(self.base_url + path, data=data, headers=headers, method=method)
        for attempt in range(1, TRIES + 1):
            wait_seconds = 0.5 * 2**attempt
            try:
                with self._opener.open(request, timeout=self.timeout_seconds) as answer:
                    return _parse(answer.status, answer.headers, answer.read())
            except urllib.error.HTTPError as refusal:
                error = _refusal(refusal, key)
                retry_after = refusal.headers.get("Retry-After", "")
                # 429 with Retry-After says that nothing was done. 503 says only when to come back.
                was_not_done = refusal.code == 429 and retry_after.isdigit()
                # A 502 with a code of the service (MEDIA_FETCH_FAILED) is its answer, not a proxy's.
                is_final = refusal.code == 502 and error.code != "BAD_RESPONSE"
                may_repeat = was_not_done or (is_repeatable and refusal.code in RETRIED_STATUSES and not is_final)
                if retry_after.isdigit():
                    wait_seconds = int(retry_after)
                    may_repeat = may_repeat and wait_seconds <= WAIT_MAX_SECONDS
            except (OSError, http.client.HTTPException) as cause:
                error = PosthornError(0, "NETWORK", str(cause), key)
                may_repeat = is_repeatable
            if not may_repeat or attempt == TRIES:
                raise error
            time.sleep(wait_seconds)


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)


def _parse(status, headers, content):
    if status == 204:
        return None
    is_json = headers.get("Content-Type", "").startswith("application/json")
    return json.loads(content) if is_json else content


def _refusal(refusal, key):
    try:
        fields = json.loads(refusal.read())
        return PosthornError(refusal.code, fields["error_code"], fields["message"], key)
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        # It broke off, or it is not from the service: a proxy on the way, most likely.
        return PosthornError(refusal.code, "BAD_RESPONSE", f"HTTP {refusal.code}", key)


if __name__ == "__main__":
    listed = Client(os.environ.get("POSTHORN_URL", "http://127.0.0.1:8080"))
    for name in sorted(listed.operations):
        names = [parameter["name"] for parameter in listed.parameters(name)]
        print(name, *names)
