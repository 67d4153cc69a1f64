"""`probabilities`: what the model says of every dev text, as JSONL, to be held against the runtime (`npm run bench -- parity`)."""

import json

from ..data.devset import dev_items
from ..paths import HERE
from ..scoring.arguments import model_parser
from ..scoring.calibration import rate_of
from ..scoring.score import score_all, text_key


def main() -> None:
    """Command line of `probabilities`; the file is `WORK/probabilities.jsonl`."""
    args = model_parser(__doc__).parse_args()
    manifest = json.loads((args.model / "manifest.json").read_text())
    texts = [item.text for item in dev_items(args.data, HERE / "data", args.limit)]
    scores = score_all(args.model / "model.onnx", texts, args.work, args.workers)
    with (args.work / "probabilities.jsonl").open("w") as out:
        for text in texts:
            rate = rate_of(scores[text_key(text)], manifest["calibration"])
            out.write(json.dumps({"text": text, "probability": rate}) + "\n")


if __name__ == "__main__":
    main()
