"""A conversation that outlives its process: saved as it was sent, resumed without making anything anew.

Then it grows long: it is trimmed rarely and in large steps, or summed up, and says what that costs.
"""

import json
import tempfile
from datetime import date
from pathlib import Path

from promptcache import Conversation

path = Path(tempfile.mkdtemp()) / "chat.json"

chat = Conversation("You help to plan a garden.", template="garden")
chat.today(date(2031, 3, 4))
chat.user("What can I sow now?", place="Oslo")
chat.assistant("Nothing outdoors yet; start tomatoes inside.\n")
chat.save(path)
before = json.dumps(chat.to_openai("any-model")["messages"])

chat = Conversation.load(path)  # in another process, after a restart
assert json.dumps(chat.to_openai("any-model")["messages"]) == before
chat.today(date(2031, 3, 5))  # only a new day is told
chat.user("And today?")
after = json.dumps(chat.to_openai("any-model")["messages"])
assert after.startswith(before.removesuffix("]"))
print(f"resumed: {len(before)} of {len(after)} characters are as they were sent before the restart")
chat.assistant("Still only inside.")

for week in range(40):
    chat.user(f"Week {week}: what should I do? " + "My notes are long. " * 20)
    chat.assistant(f"In week {week}, water the seedlings.")
    move = chat.trim(to_tokens=1000, at_tokens=2000)
    if move.moved:
        print(f"week {week}: {move.dropped} tokens dropped, {move.lost} to be computed anew ({move.code})")

asking = chat.fork()  # the request for a summary reads the whole cache
asking.user("Sum up what was decided.")
asking.assistant("Tomatoes inside; water the seedlings every week.")
summary = asking.to_openai("any-model")["messages"][-1]["content"]
move = chat.compact(summary, keep_turns=2)
print(f"summed up: {move.dropped} tokens became {move.added}, {move.lost} to be computed anew ({move.code})")
