#!/usr/bin/env python3
"""Records the requests that HTTP clients and CloudEvents SDKs send, byte by byte.

Usage: test/callers/record.py [NAME ...]      NAME: a key of CLIENTS or SDKS; without one, all of them

Each program in clients/ and sdks/ makes one call and ends. It gets BASE (the address of the recording socket), CALL (an entry of
calls.json or events.json) and, with several libraries in one program, LIBRARY. The requests go to internal/http/testdata/callers and
.../sdks, a file for each client: "=== name, number of bytes", then the bytes. test/callers/install installs what the programs need.
"""
import datetime, json, os, pathlib, socket, subprocess, sys, threading

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "internal/http/testdata"
TOOLS = pathlib.Path(os.environ.get("CALLERS_TOOLS", pathlib.Path.home() / ".cache/refundry/callers"))
PYTHON = str(TOOLS / "venv/bin/python")
JAVA = ["java", "-cp", str(TOOLS / "java/*")]
JAVA_VERSION = "java --version | head -1"


def pip(name):
    return f"echo {name} $({PYTHON} -c 'import importlib.metadata as m; print(m.version(\"{name}\"))'), $({PYTHON} --version)"


def npm(name):
    return f"echo {name} $(node -p 'require(\"{TOOLS}/node_modules/{name}/package.json\").version'), Node $(node --version)"


def jar(name):
    return f"echo $(basename {TOOLS}/java/{name}-[0-9]*.jar .jar), $({JAVA_VERSION})"


# name: (command, LIBRARY, command that prints the version)
CLIENTS = {
    "curl": (["bash", "clients/curl.sh"], "", "curl --version | head -1"),
    "wget": (["bash", "clients/wget.sh"], "", "wget --version | head -1"),
    "go-net-http": (["go", "run", "clients/nethttp.go"], "", "go version"),
    "python-requests": ([PYTHON, "clients/python.py"], "requests", pip("requests")),
    "python-httpx": ([PYTHON, "clients/python.py"], "httpx", pip("httpx")),
    "python-aiohttp": ([PYTHON, "clients/python.py"], "aiohttp", pip("aiohttp")),
    "python-urllib": ([PYTHON, "clients/python.py"], "urllib", f"{PYTHON} --version"),
    "node-fetch": (["node", "clients/node.mjs"], "fetch", "echo Node $(node --version)"),
    "node-undici": (["node", "clients/node.mjs"], "undici", npm("undici")),
    "node-axios": (["node", "clients/node.mjs"], "axios", npm("axios")),
    "java-httpclient": (JAVA + ["clients/Caller.java"], "httpclient", JAVA_VERSION),
    "java-okhttp": (JAVA + ["clients/Caller.java"], "okhttp", jar("okhttp-jvm")),
    "perl-http-tiny": (["perl", "clients/tiny.pl"], "", "perl -MHTTP::Tiny -e 'print \"HTTP::Tiny $HTTP::Tiny::VERSION, Perl $^V\\n\"'"),
}
SDKS = {
    "go": (["go", "run", "-C", str(HERE / "sdks/go"), "."], "", f"grep cloudevents/sdk-go {HERE}/sdks/go/go.mod | sed 's/^require //'"),
    "python": ([PYTHON, "sdks/python.py"], "", pip("cloudevents")),
    "javascript": (["node", "sdks/javascript.mjs"], "", npm("cloudevents")),
    "java": (JAVA + ["sdks/Sdk.java"], "", jar("cloudevents-core")),
}
KEY = "rfk_test_Writer01_" + "0123456789012345678901234567890123456789012"  # of the tests of internal/http


class Recorder:
    """Answers every request with 200 and {} and keeps its bytes."""

    def __init__(self):
        self.requests, self.socket = [], socket.create_server(("127.0.0.1", int(os.environ.get("CALLERS_PORT", "8199"))))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        connection.settimeout(20)
        buffer = b""

        def more():
            nonlocal buffer
            got = connection.recv(65536)
            if not got:
                raise EOFError
            buffer += got

        try:
            while True:
                while b"\r\n\r\n" not in buffer:
                    more()
                end = buffer.index(b"\r\n\r\n") + 4
                head = buffer[:end].lower()
                if b"\r\nexpect: 100-continue" in head:
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                if b"\r\ntransfer-encoding: chunked" in head:
                    while True:  # chunk by chunk
                        while b"\r\n" not in buffer[end:]:
                            more()
                        line = buffer.index(b"\r\n", end)
                        size = int(buffer[end:line].split(b";")[0], 16)
                        end = line + 2 + size + 2
                        while len(buffer) < end:
                            more()
                        if size == 0:
                            break
                elif b"\r\ncontent-length:" in head:
                    end += int(head.split(b"\r\ncontent-length:")[1].split(b"\r\n")[0])
                    while len(buffer) < end:
                        more()
                self.requests.append(buffer[:end])
                buffer = buffer[end:]
                body = b"" if head.startswith(b"head ") else b"{}"
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n" + body)
        except (EOFError, OSError):
            connection.close()


def record(recorder, kind, name, entry, calls):
    command, library, version = entry
    base = "http://127.0.0.1:%d" % recorder.socket.getsockname()[1]
    text = subprocess.run(["bash", "-c", version], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
    out = f"# {name}: {text}\n# recorded {datetime.date.today()} by test/callers/record.py\n".encode()
    for call in calls:
        recorder.requests.clear()
        ran = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=300,
                             env={**os.environ, "BASE": base, "CALL": json.dumps(call), "KEY": KEY, "LIBRARY": library, "CALLERS_TOOLS": str(TOOLS)})
        if ran.returncode == 3:
            print(f"{name}: cannot do: {call['name']}: {ran.stderr.strip()}")
            continue
        if ran.returncode != 0 or len(recorder.requests) != 1:
            sys.exit(f"{name}: {call['name']}: exit {ran.returncode}, {len(recorder.requests)} requests\n{ran.stdout}{ran.stderr}")
        request = recorder.requests[0]
        out += b"=== %s, %d\n" % (call["name"].encode(), len(request)) + request + b"\n"
    path = OUT / kind / (name + ".txt")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(out)
    print(f"{path.name}: {len(out)} bytes")


def main():
    calls, events = (json.loads((HERE / name).read_text()) for name in ("calls.json", "events.json"))
    recorder, wanted = Recorder(), sys.argv[1:]
    for kind, programs, list_of_calls in (("callers", CLIENTS, calls), ("sdks", SDKS, events)):
        for name, entry in programs.items():
            if not wanted or name in wanted or kind + "/" + name in wanted:
                record(recorder, kind, name, entry, list_of_calls)


main()
