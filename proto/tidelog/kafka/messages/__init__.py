"""Kafka's messages, a module each. Generated: `make proto`; see `tidelog.kafka`."""
