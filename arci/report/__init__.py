"""Decisions and records for people: a view is built from data, then rendered as text or Markdown. Pure."""
