"""Subscriptions by pattern: which topics a member's regular expression matches (KIP-848).

    tree             a pattern, read
    syntax           its text, read from the left; what is refused, and why
    positions        the tree as an automaton of the pattern's characters (Glushkov)
    ambiguity        repeats on which engines that backtrack may take forever: refused
    automaton        the automaton on names, made deterministic on the way: linear time
    topic_patterns   the matches of all patterns in use, kept with the topics of the image

Patterns match whole names. A name is looked at once, character by character, whatever the pattern:
nothing backtracks. Decision 0052. Begin with `syntax`.
"""
