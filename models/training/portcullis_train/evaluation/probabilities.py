"""`probabilities`: what the model says of the dev texts, as JSONL, to be held against the runtime (`npm run bench -- parity`)."""

import json

from ..data.channels import ENGINE_CHANNELS
from ..data.devset import channel_items, dev_items
from ..scoring.arguments import model_parser
from ..scoring.calibration import judged_by, rate_of
from ..scoring.score import key_of, score_all

# One of the engine's channels for each of the model's.
ENGINE_NAMES = {channel: name for name, channel in ENGINE_CHANNELS.items()} | {0: None}


def main() -> None:
    """Command line of `probabilities`; the file is `WORK/probabilities.jsonl`."""
    parser = model_parser(__doc__)
    parser.add_argument("--every", type=int, default=1, help="of the texts only the first of so many")
    args = parser.parse_args()
    manifest = json.loads((args.model / "manifest.json").read_text())
    items = (dev_items(args.data, args.limit) + channel_items(args.data))[:: args.every]
    scores = score_all(args.model / "model.onnx", items, args.work, args.workers)
    with (args.work / "probabilities.jsonl").open("w") as out:
        for item in items:
            rate = rate_of(scores[key_of(item)], judged_by(manifest, item.channel)["calibration"])
            out.write(json.dumps({"text": item.text, "channel": ENGINE_NAMES[item.channel], "task": item.task, "probability": rate}) + "\n")


if __name__ == "__main__":
    main()
