"""Kafka's own wire protocol: messages and their bytes. No frames and no sockets here.

- `messages/` is generated (`make proto`) from `proto/kafka/*.schema`: a module for each message.
- `message` has what all messages share: `decode(data, version)` and `encode(version)`.
- `apis` finds a message by API key and imports its module only then.
- `errors` are what it raises.
- `wire` has the few pieces that generated code calls: lengths, tags, lists.

Begin at `message`. Decision 0053 tells why it is so.
"""
