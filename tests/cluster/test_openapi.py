# SPDX-License-Identifier: Apache-2.0
"""test_openapi.py BUILD SOURCE [CASE ...] - what openapi.yaml says is what the driver answers.

Readers pass over members that they do not know, so the description allows more; a running job's
answers may here have none that it does not name, and leave none out that it calls required.
"""

import json
import os
import re
import signal
import sys

import jsonschema
import yaml

from cases import run
from files import read, write
from job import Folders, Job, request
from node import wait_for

BUILD, SOURCE = sys.argv[1:3]
FOLDERS = Folders()
API = yaml.safe_load(read(os.path.join(SOURCE, "agents/driver/openapi.yaml")))


def nodes(value):
    """Every object in it, itself included."""
    if isinstance(value, dict):
        yield value
    for v in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(v)


def resolved(node):
    """What a reference stands for; an object that is none stands for itself."""
    while "$ref" in node:
        path, node = node["$ref"], API
        for name in path.removeprefix("#/").split("/"):
            node = node[name]
    return node


def operations():
    for path, methods in API["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def document():
    """It is OpenAPI 3.1: its schemas are schemas, its references lead somewhere, and nothing is described in vain."""
    assert API["openapi"] == "3.1.0" and {"title", "version"} <= set(API["info"]), API["info"]
    parts = API["components"]
    used = {n["$ref"] for n in nodes(API) if "$ref" in n}
    assert used == {f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in parts[kind]}
    for schema in parts["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert set(schema.get("required", [])) <= set(schema.get("properties", {})), schema
    for path, method, o in operations():
        assert o["summary"] and method in ("get", "post"), o
        assert {s for need in o.get("security", []) for s in need} <= set(parts["securitySchemes"]), o
        given = {p["name"] for p in o.get("parameters", []) if p["in"] == "path" and p["required"]}
        assert given == set(re.findall(r"{(\w+)}", path)), path
        assert all(re.fullmatch(r"\d{3}", code) and resolved(r)["description"] for code, r in o["responses"].items()), o
    names = [o["operationId"] for _, _, o in operations()]
    assert len(names) == len(set(names)), names


def routes():
    """The driver has these paths and no others."""
    code = re.sub(r"/\*.*?\*/", "", read(os.path.join(SOURCE, "agents/driver/nodes/request_queue.c")), flags=re.S)
    begin = {path.split("{")[0] for path in API["paths"]}
    assert set(re.findall(r'"(/[a-z0-9][a-z0-9/]*)"', code)) == begin, begin
    below = {path.rpartition("/")[2] for path in API["paths"] if path.startswith("/v1/agents/")}
    assert set(re.findall(r'strcmp\(rest, "(\w+)"\)', code)) == below, below


def strict(schema):
    """The same, inlined, with no member but those that it names."""
    schema = resolved(schema)
    made = {}
    for key, value in schema.items():
        if key == "properties":
            made[key] = {name: strict(s) for name, s in value.items()}
            made["additionalProperties"] = False
        elif key == "items":
            made[key] = strict(value)
        elif key == "oneOf":
            made[key] = [strict(s) for s in value]
        else:
            made[key] = value
    return made


def members(schema, at=""):
    """The paths of all members that it describes."""
    schema = resolved(schema)
    for name, s in schema.get("properties", {}).items():
        yield f"{at}.{name}"
        yield from members(s, f"{at}.{name}")
    for s in [schema["items"]] if "items" in schema else schema.get("oneOf", []):
        yield from members(s, at)


def seen(value, at=""):
    """The paths of all members that an answer has."""
    if isinstance(value, list):
        for v in value:
            yield from seen(v, at)
    if isinstance(value, dict):
        for name, v in value.items():
            yield f"{at}.{name}"
            yield from seen(v, f"{at}.{name}")


def check(path, status, text, method="get"):
    """The answer is described.  Returns what it is; None: it is no JSON."""
    found = API["paths"][path][method]["responses"]
    assert str(status) in found, (path, status, text)
    kind, said = next(iter(resolved(found[str(status)])["content"].items()))
    if kind != "application/json":
        return None
    value = json.loads(text)
    try:
        jsonschema.Draft202012Validator(strict(said["schema"])).validate(value)
    except jsonschema.ValidationError as e:
        raise AssertionError(f"{path}, {list(e.absolute_path)}: {e.message[:400]}") from None
    return value


def training():
    data = os.path.join(SOURCE, "examples/digits/digits.csv")
    path = write(FOLDERS.path("work", "train.yaml"), f"name: digits\n"
                 f"command: [eddis-train, --data, {data}, --test, '360', --model, mlp, --widths, '32', --epochs, '40000']\n"
                 f"profile: {{emulate: [{{rate: 1.0, a_ms: 2, c_ms: 0.1}}, {{rate: 0.5}}]}}\n")
    return Job(BUILD, FOLDERS, [path], ranks=None)


def look(url, token, has):
    """Ask for all that a reader may ask for, and note the members of the answers."""
    for path, methods in API["paths"].items():
        if "get" in methods and "people" in methods["get"]["tags"]:
            status, text = request(url + path.format(rank=0), token)
            assert status == 200 or path != "/metrics", (status, text)
            value = check(path, status, text)
            has.setdefault(path, set()).update(seen(value) if status == 200 else ())


def answers():
    """All that a job tells while it trains and after a failure; and every member that is described is told once."""
    has = {}
    with training() as j:
        url, token = j.driver()

        def workers():
            return check("/v1/workers", *request(url + "/v1/workers", token))["workers"]
        wait_for("figures of all workers", lambda: workers() and all("figures" in w for w in workers()))
        wait_for("what it has chosen of its communication", lambda: check(
            "/v1/plan", *request(url + "/v1/plan", token))["communication"])
        j.wait_log(0, "\n")
        look(url, token, has)
        os.kill(workers()[1]["pid"], signal.SIGKILL)
        wait_for("the next generation", lambda: check(
            "/v1/job", *request(url + "/v1/job", token))["first_failure"])
        look(url, token, has)
        owner = json.loads(j.file("driver.json"))["owner"]
        errors(url, token)
        check("/v1/job/stop", *request(url + "/v1/job/stop", owner, b""), method="post")
        j.check(130, "interrupted", failed_rank=1)
    for path, found in has.items():
        content = API["paths"][path]["get"]["responses"]["200"]["content"]
        if "application/json" in content:
            wanted = {m for m in members(content["application/json"]["schema"])
                      if ".gpu" not in m and ".left_out" not in m}  # test_gpus.py, test_drop.py
            assert found == wanted, (path, found ^ wanted)


def errors(url, token):
    """Each with a status that is described, and a sentence."""
    for path, methods in API["paths"].items():
        for method in methods:
            if "people" in methods[method]["tags"]:
                refused(401, path, request(url + path.format(rank=0), body=b"" if method == "post" else None), method)
    refused(400, "/v1/events", request(url + "/v1/events?after=x", token))
    refused(400, "/v1/logs/{rank}", request(url + "/v1/logs/x", token))
    refused(404, "/v1/logs/{rank}", request(url + "/v1/logs/99", token))
    refused(403, "/v1/job/stop", request(url + "/v1/job/stop", token, b""), "post")


def refused(status, path, answer, method="get"):
    assert answer[0] == status and check(path, *answer, method)["error"], (path, answer)


run([document, routes, answers], sys.argv[3:])
