"""Who speaks and what was asked: the channel of every row, the task where it is known, and rows that only these two tell apart.

A label is a label given the channel: the same order is honest from the user and an attack in a tool's result. Rows with a
`channel` come from `authored-3`, `authored-4`, `world-3-train` and `data/channel.jsonl`; older rows get theirs from their group.
"""

import random
import zlib
from pathlib import Path

from .inserts import passages, put
from .rows import Row, own_texts, read_rows

UNKNOWN, USER, DATA, TOOL_CALL, INSTRUCTIONS = range(5)
# The engine's channels.
ENGINE_CHANNELS = {"user": USER, "document": DATA, "tool_result": DATA, "tool_call": TOOL_CALL, "instructions": INSTRUCTIONS}
# Those of the data.
CHANNEL_NAMES = ("unknown", "user", "data", "tool_call", "instructions")

_INSTRUCTION_SOURCES = {"copilot_agents", "fabric_patterns", "lobe_agents", "oasb_agents", "mcp_docstrings", "atr_rules", "cursor_rules"}
_INSTRUCTION_FAMILIES = {"agentfiles", "own w-host", "own w-agentfiles", "authored agentfiles", "own f-agent"}
_DATA_SOURCES = {
    "OWASP docs", "prompting book", "prompt_guide", "atlas_cases", "atr_mentions", "doc2dial passages", "tldr pages", "synthetic decoy", "UI strings",
    "package strings", "package files", "ops_docs", "LLMail-Inject sample",
}  # fmt: skip
_DATA_FAMILIES = ("own w-webagent", "own w-mailtask", "own w-inbox", "own w-page", "own w-tool", "own w-sidetask", "own w-indirectask", "own w-embedded", "planted", "inserted")
_USER_FAMILIES = ("own w-framing", "own w-extract", "own w-leak", "own w-scope", "own w-pretext", "own w-short", "joined", "inserted alone")
_USER_SOURCES = {
    "GPTFuzz templates", "GPTeacher toolformer", "wild-jailbreaks", "JailbreakBench artifacts", "sap_roleplay", "in-the-wild jailbreak prompts", "jailbench_zh", "xsafety",
    "deepset prompt-injections", "awesome-chatgpt-prompts-zh", "authored multilingual", "Tensor Trust", "prompt_extraction", "pair_autodan", "pyrit_jailbreaks",
}  # fmt: skip
_ARGUMENTS = {"BFCL", "SGD service calls", "ToolAlpaca", "synthetic tool call", "synthetic tool call benign", "ABCD sample"}
# Attacks of these groups work from anywhere, so they are spread over the channels; so are single sentences that belong nowhere.
_ANYWHERE = {"direct", "jailbreak", "obfuscated", "multilingual"}
_GROUPS = {
    "chat": USER, "hard_negative": USER, "direct": USER, "jailbreak": USER, "indirect": DATA, "document": DATA, "email": DATA, "code": DATA, "tool_call": DATA,
    "webagent": DATA, "mailtask": DATA,
}  # fmt: skip


def channel_of(row: Row) -> int:
    """The channel of a row: the one it names, else the one of its source or group. Some rows are spread by a checksum of the text."""
    if "channel" in row:
        return CHANNEL_NAMES.index(str(row["channel"]))
    source, group, attack = str(row["source"]), str(row["group"]), row["label"] == "injection"
    draw = zlib.crc32(str(row["text"]).encode("utf-8", "surrogatepass")) % 100
    of_user = source in _USER_SOURCES or source.startswith(_USER_FAMILIES)
    first_that_fits = (
        (source in _INSTRUCTION_SOURCES | _INSTRUCTION_FAMILIES, INSTRUCTIONS),
        (group == "tool_call" and source in _ARGUMENTS, TOOL_CALL),
        (source in _DATA_SOURCES, DATA),
        (of_user and not attack, USER),
        (source.startswith(_DATA_FAMILIES), DATA),
        (attack and (of_user or group in _ANYWHERE), USER if draw < 60 else DATA if draw < 75 else UNKNOWN),
        (source.startswith(("mined ", "synthetic imperative")) or group not in _GROUPS, (UNKNOWN, USER, DATA)[draw % 3]),
    )
    return next((channel for fits, channel in first_that_fits if fits), _GROUPS.get(group, UNKNOWN))


def may_be_learnt(row: Row, excluded: set[str]) -> bool:
    """Whether a row's licence class is none of the excluded ones. The data calls the Sustainable Use License permissive: it is source-available."""
    is_available = "sustainable use" in str(row.get("licence")).lower()
    return ("source-available" if is_available else row.get("licence_class")) not in excluded | {"copyleft"}


def channel_rows(data: Path, excluded: set[str]) -> list[Row]:
    """Rows with a channel that may be learnt from: other people's, and those written for this project."""
    rows = [row for row in read_rows(data / "world-3-train.jsonl.gz") if may_be_learnt(row, excluded)]
    rows += [row for name in ("authored-3", "authored-4") for row in read_rows(data / f"{name}.jsonl.gz") if row["split"] == "train"]
    return rows + [row for row in own_texts("channel") if row["split"] == "train"]


# Whose orders to agents are planted, and whose results they are planted into.
ORDER_SOURCES = {
    "agent_user_tasks", "workbench", "livemcpbench", "openagentsafety", "mcp_security_bench", "BFCL", "API-Bank", "ToolAlpaca", "own c-user_order",
    "authored3 user_order", "authored4 user_order", "privacylens",
}  # fmt: skip
HOST_SOURCES = {
    "livemcpbench": 3, "openagentsafety": 2, "privacylens": 2, "tau": 1, "workbench": 3, "inj_qa": 1, "tasktracker": 1, "InjecAgent": 1, "enron emails (AESLC)": 0.5,
    "tool records (reformatted)": 0.5, "authored3 data_human": 4, "authored4 data_human": 4, "own c-data_human": 4,
}  # fmt: skip
ORDER_CHARACTERS, HOST_CHARACTERS = (15, 320), (80, 3500)
DELEGATED_SHARE = 0.22
PLACES = ("start", "middle", "middle", "end")


def contrast_rows(rows: list[Row], count: int, seed: int) -> list[Row]:
    """`count` honest orders of users planted into honest results, and around them what only channel and task tell apart.

    Of each: the host with the order under a task that did not ask for it (injection); the host with a passage for people (benign);
    of a share also the very same text under a task that delegates it (benign). The order itself stays among the user's rows.
    """
    rng = random.Random(f"{seed}/contrast")
    orders = [row for row in rows if row["source"] in ORDER_SOURCES and row["label"] == "benign" and row.get("channel", "user") == "user" and row["group"] != "tool_call"]
    orders = [row for row in orders if ORDER_CHARACTERS[0] <= len(str(row["text"])) <= ORDER_CHARACTERS[1]]
    hosts = [row for row in rows if row["source"] in HOST_SOURCES and row["label"] == "benign" and row.get("channel", "data") == "data"]
    hosts = [row for row in hosts if HOST_CHARACTERS[0] <= len(str(row["text"])) <= HOST_CHARACTERS[1]]
    of_source = {source: sum(row["source"] == source for row in hosts) for source in HOST_SOURCES}
    odds = [HOST_SOURCES[str(row["source"])] * min(1, 300 / of_source[str(row["source"])]) for row in hosts]
    sources = sorted({str(row["source"]) for row in orders})
    by_source = {source: [row for row in orders if row["source"] == source] for source in sources}
    people = [one for one in passages() if one.label == "benign" and not one.apart and one.family.startswith(("h-people", "h-side", "h-mailto", "h-web"))]
    reading, delegating = ([str(row["text"]) for row in own_texts("tasks") if row["kind"] == kind] for kind in ("reading", "delegating"))
    result: list[Row] = []
    for host in rng.choices(hosts, odds, k=count):
        order = rng.choice(by_source[rng.choice(sources)])
        passage = str(order["text"]).strip()
        planted = put(str(host["text"]), passage, rng.choice(PLACES), rng)
        decoy = put(str(host["text"]), rng.choice(people).text, rng.choice(PLACES), rng)
        foreign = str(host.get("task") or rng.choice(reading)) if rng.random() < 0.6 else rng.choice(reading)
        base = {"channel": "data", "group": "indirect", "lang": order["lang"]}
        result.append({"text": planted[0], "span": list(planted[1]), "label": "injection", "source": "contrast order", "task": foreign, **base})
        result.append({"text": decoy[0], "label": "benign", "source": "contrast people", "task": foreign, **base})
        if rng.random() < DELEGATED_SHARE:
            task = rng.choice(delegating) if rng.random() < 0.7 else f"{rng.choice(reading)} {passage}"
            result.append({"text": planted[0], "label": "benign", "source": "contrast delegated", "task": task, **base})
    return result
