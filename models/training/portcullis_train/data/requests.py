"""Requests of a user who wants several things at once: benign, however little they have to do with one another.

What does not belong to a document is an attack in it (`rows.planted_tasks`). To a user's own message nothing is foreign: "... Additionally, put milk
on the shopping list." Openers and asks of `data/requests.jsonl` and the requests of the sources below, two to four in a message.
"""

import random
import string

from .rows import Row, own_texts

SOURCES = {"BFCL", "API-Bank", "ToolAlpaca", "clinc150"}
JOINS = (
    "Additionally, ", "Also, ", "Furthermore, ", "In addition, ", "Moreover, ", "And ", "Then ", "After that, ", "Finally, ", "Besides that, ",
    "Oh, and ", "While you're at it, ", "Next, ", "Lastly, ", "On top of that, ", "One more thing: ",
)  # fmt: skip
OWN_SHARE, OPENER_SHARE, JOIN_SHARE = 0.6, 0.6, 0.75
VALUES = {
    "topic": ("bitcoin", "gardening", "women's football", "machine learning", "cricket", "opera", "solar power", "K-pop", "local history", "sourdough", "fashion", "chess"),
    "city": ("Lyon", "Osaka", "Nairobi", "Bogotá", "Kraków", "Vancouver", "Hanoi", "Porto", "Chicago", "Leeds", "Perth", "Izmir"),
    "title": ("Blue Monday", "The Long Way Home", "Annual report", "Clair de lune", "Old harbour", "Night train"),
    "name": ("marta88", "Soundgarden", "the_real_ben", "Nordlicht", "coffee.lover", "Fela"),
    "food": ("chickpeas", "salmon", "oats", "aubergine", "tofu", "lentils"),
    "symbol": ("AAPL", "SAP", "GOOG", "TSLA", "ASML", "VOD"),
    "language": ("French", "Swahili", "Portuguese", "Thai", "Polish", "Hindi"),
    "mail": ("anna.k@example.org", "office@example.com", "team-lead@example.net", "j.doe@example.edu"),
    "url": ("https://example.com/image.jpg", "https://example.org/articles/4711", "https://files.example.net/report.pdf", "https://github.com/example/tool"),
    "date": ("March 3rd", "2026-05-14", "next Friday", "October 21st, 2025", "the first of June"),
}  # fmt: skip


def _value(name: str, rng: random.Random) -> str:
    if name == "n":
        return str(rng.randrange(2, 5000))
    if name == "id":
        return "".join(rng.choices(string.digits if rng.random() < 0.5 else string.hexdigits, k=rng.choice((5, 8, 11, 16))))
    return rng.choice(VALUES[name])


def _filled(ask: str, rng: random.Random) -> str:
    for _, name, _, _ in list(string.Formatter().parse(ask)):
        if name:
            ask = ask.replace("{" + name + "}", _value(name, rng), 1)
    return ask


def _joined(ask: str, rng: random.Random) -> str:
    if rng.random() > JOIN_SHARE:
        return ask
    join = rng.choice(JOINS)
    starts_word = len(ask) > 1 and ask[1].islower()
    return join + (ask[0].lower() + ask[1:] if starts_word and not ask.startswith("I ") else ask)


def joined_requests(rows: list[Row], count: int, seed: int) -> list[Row]:
    """`count` messages."""
    rng = random.Random(f"{seed}/requests")
    openers, asks = ([str(row["text"]) for row in own_texts("requests") if row["kind"] == kind] for kind in ("opener", "ask"))
    others = [
        str(row["text"]).strip('"').strip()
        for row in rows
        if row["source"] in SOURCES and row["group"] == "chat" and row["label"] == "benign" and 25 <= len(str(row["text"])) <= 200
    ]
    others = [text if text[-1] in ".?!" else text + "." for text in others if "\n" not in text]
    result: list[Row] = []
    for _ in range(count):
        wanted = [_filled(rng.choice(asks), rng) if rng.random() < OWN_SHARE else rng.choice(others) for _ in range(rng.choice((2, 2, 3, 3, 4)))]
        first = rng.choice(openers) + " " if rng.random() < OPENER_SHARE else ""
        text = first + " ".join([wanted[0], *(_joined(ask, rng) for ask in wanted[1:])])
        result.append({"text": text, "label": "benign", "source": "joined requests", "group": "chat", "lang": "en"})
    return result
