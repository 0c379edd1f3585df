"""/connectors: create, change, show, pause, stop, restart, delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from ottla.connect.connectors.connector import Source
from ottla.connect.options.connector import problems_of
from ottla.connect.plugins import UnknownPlugin, connector_class
from ottla.connect.rest.call import Call, as_settings
from ottla.connect.rest.errors import RestError, invalid, not_found
from ottla.connect.worker import formats
from ottla.connect.worker.view import Known, Target

_INITIAL: Final = {"RUNNING": Target.STARTED, "PAUSED": Target.PAUSED, "STOPPED": Target.STOPPED}


def kind_of(config: dict[str, str] | None) -> str:
    """Return source or sink."""
    try:
        found = connector_class((config or {}).get("connector.class", ""))
    except UnknownPlugin:
        return "unknown"
    return "source" if issubclass(found, Source) else "sink"


def info(name: str, known: Known) -> dict[str, Any]:
    """Return a connector as the API shows it."""
    tasks = [] if known.target is Target.STOPPED else [{"connector": name, "task": 0}]
    return {"name": name, "config": known.config, "tasks": tasks, "type": kind_of(known.config)}


def status(name: str, known: Known) -> dict[str, Any]:
    """Return the state of a connector and of its task."""
    whole = known.status or {"state": "UNASSIGNED", "worker_id": ""}
    tasks = [] if known.task is None else [task_status(known.task)]
    return {
        "name": name,
        "connector": {n: whole[n] for n in ("state", "worker_id") if n in whole},
        "tasks": tasks,
        "type": kind_of(known.config),
    }


def task_status(told: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a task."""
    shown = {"id": 0, "state": told.get("state"), "worker_id": told.get("worker_id")}
    return shown | ({"trace": told["trace"]} if told.get("trace") else {})


async def show_all(call: Call) -> Response:
    """GET /connectors"""
    view, wanted = call.worker.view, call.request.query_params.getlist("expand")
    if not wanted:
        return JSONResponse(view.names())
    shown = {"info": info, "status": status}
    if unknown := [each for each in wanted if each not in shown]:
        raise RestError(400, f"expand is info or status, not {unknown[0]}")
    answer = {}
    for name in view.names():
        known = view.get(name)
        if known is not None:
            answer[name] = {each: shown[each](name, known) for each in wanted}
    return JSONResponse(answer)


async def create(call: Call) -> Response:
    """POST /connectors"""
    given = await call.body()
    if not isinstance(given, dict) or not isinstance(given.get("config"), dict):
        raise RestError(400, 'the body is {"name": ..., "config": {...}}')
    config = as_settings(given["config"])
    name = _checked_name(given.get("name") or config.get("name"))
    if config.get("name") not in (None, name):
        raise RestError(400, "Connector name configuration doesn't match connector name in the URL")
    wanted = str(given.get("initial_state") or "RUNNING").upper()
    if wanted not in _INITIAL:
        raise RestError(400, "initial_state is RUNNING, PAUSED or STOPPED")
    if call.worker.view.get(name) is not None:
        raise RestError(409, f"Connector {name} already exists")
    await _put(call, name, config, _INITIAL[wanted])
    return _shown(call, name, 201)


async def show(call: Call) -> Response:
    """GET /connectors/{connector}"""
    return JSONResponse(info(call.name, call.known))


async def show_config(call: Call) -> Response:
    """GET /connectors/{connector}/config"""
    return JSONResponse(call.known.config)


async def put_config(call: Call) -> Response:
    """PUT /connectors/{connector}/config"""
    name = _checked_name(call.name)
    config = await call.settings()
    if config.get("name") not in (None, name):
        raise RestError(
            400,
            f"Connector name configuration ({config['name']}) doesn't match connector name in the URL ({name})",
        )
    is_new = call.worker.view.get(name) is None
    await _put(call, name, config, None)
    return _shown(call, name, 201 if is_new else 200)


async def patch_config(call: Call) -> Response:
    """PATCH /connectors/{connector}/config"""
    before = call.known.config or {}
    changes = await call.settings()
    merged = {name: value for name, value in {**before, **changes}.items() if value is not None}
    await _put(call, call.name, merged, None)
    return _shown(call, call.name, 200)


async def delete(call: Call) -> Response:
    """DELETE /connectors/{connector}"""
    known, name, worker = call.known, call.name, call.worker
    entries = [
        formats.connector_config(name, None),
        formats.target_state(name, None),
        formats.task_config(name, 0, None),
        formats.task_count(name, None),
    ]
    await worker.topics.write(worker.config_topic, entries)
    gone = [formats.connector_status(name, None), formats.task_status(name, 0, None)]
    gone += [formats.topic_status(name, topic, None) for topic in known.topics]
    await worker.topics.write(worker.status_topic, gone)
    return Response(status_code=204)


async def show_status(call: Call) -> Response:
    """GET /connectors/{connector}/status"""
    found = call.worker.view.get(call.name)
    if found is None:
        raise RestError(404, f"No status found for connector {call.name}")
    return JSONResponse(status(call.name, found))


async def show_tasks(call: Call) -> Response:
    """GET /connectors/{connector}/tasks"""
    known = call.known
    if known.target is Target.STOPPED:
        return JSONResponse([])
    return JSONResponse([{"id": {"connector": call.name, "task": 0}, "config": known.config}])


async def show_task_status(call: Call) -> Response:
    """GET /connectors/{connector}/tasks/{task}/status"""
    task = call.known.task
    if call.request.path_params["task"] != 0 or task is None:
        raise RestError(
            404, f"No status found for task {call.name}-{call.request.path_params['task']}"
        )
    return JSONResponse(task_status(task))


async def restart_task(call: Call) -> Response:
    """POST /connectors/{connector}/tasks/{task}/restart"""
    if call.known and call.request.path_params["task"] != 0:
        raise RestError(404, f"Unknown task: {call.name}-{call.request.path_params['task']}")
    await _restart(call, include_tasks=True, only_failed=False)
    return Response(status_code=204)


async def restart(call: Call) -> Response:
    """POST /connectors/{connector}/restart"""
    known, include, only = call.known, call.flag("includeTasks"), call.flag("onlyFailed")
    await _restart(call, include_tasks=include, only_failed=only)
    if not include and not only:
        return Response(status_code=204)
    return JSONResponse(status(call.name, known), status_code=202)


async def _restart(call: Call, *, include_tasks: bool, only_failed: bool) -> None:
    entry = formats.restart(call.name, include_tasks=include_tasks, only_failed=only_failed)
    await call.worker.topics.write(call.worker.config_topic, [entry])


async def pause(call: Call) -> Response:
    """PUT /connectors/{connector}/pause"""
    return await _aim(call, Target.PAUSED, 202)


async def resume(call: Call) -> Response:
    """PUT /connectors/{connector}/resume"""
    return await _aim(call, Target.STARTED, 202)


async def stop(call: Call) -> Response:
    """PUT /connectors/{connector}/stop"""
    return await _aim(call, Target.STOPPED, 204)


async def _aim(call: Call, target: Target, code: int) -> Response:
    if call.known.target is not target:
        entry = formats.target_state(call.name, str(target))
        await call.worker.topics.write(call.worker.config_topic, [entry])
        if target is not Target.STARTED:
            await call.worker.tell_target(call.name)
    return Response(status_code=code)


async def show_topics(call: Call) -> Response:
    """GET /connectors/{connector}/topics"""
    return JSONResponse({call.name: {"topics": sorted(call.known.topics)}})


async def reset_topics(call: Call) -> Response:
    """PUT /connectors/{connector}/topics/reset"""
    entries = [formats.topic_status(call.name, topic, None) for topic in call.known.topics]
    await call.worker.topics.write(call.worker.status_topic, entries)
    return Response(status_code=200)


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise RestError(
            400, 'Connector name is missing: the body is {"name": ..., "config": {...}}'
        )
    if any(ord(each) < 32 for each in name) or len(name) > 200:
        raise RestError(
            400, "a connector's name has no control characters, and 200 characters at most"
        )
    return name


async def _put(
    call: Call, name: str, config: Mapping[str, str | None], target: Target | None
) -> None:
    worker = call.worker
    whole = {**config, "name": name}
    problems = problems_of(worker.complete(whole))
    if problems:
        raise invalid(problems)
    stored = {setting: value for setting, value in whole.items() if value is not None}
    entries = [] if target in (None, Target.STARTED) else [formats.target_state(name, str(target))]
    entries += [
        formats.task_config(name, 0, stored),
        formats.connector_config(name, stored),
        formats.task_count(name, 1),
    ]
    await worker.topics.write(worker.config_topic, entries)


def _shown(call: Call, name: str, code: int) -> Response:
    known = call.worker.view.get(name)
    if known is None:
        raise not_found(name)
    headers = {"location": f"/connectors/{name}"} if code == 201 else None
    return JSONResponse(info(name, known), status_code=code, headers=headers)
