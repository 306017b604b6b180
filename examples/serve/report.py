import argparse
import os
import time

import holdfast

parser = argparse.ArgumentParser()
parser.add_argument("--pages", type=int)
pages = parser.parse_args().pages

path = os.path.join(os.environ["HOLDFAST_OUT"], "report.txt")
with open(path, "w") as report:
    for page in range(1, pages + 1):
        time.sleep(0.1)
        report.write(f"Page {page}\n")
        holdfast.progress(page, pages, f"page {page} is written")

form = {"properties": {"to": {"type": "string", "title": "To whom?"}}, "required": ["to"]}
answer = holdfast.ask("send", f"{pages} pages are written. Send them?", form)
holdfast.result({"pages": pages, "sentTo": answer["to"] if answer else None})
