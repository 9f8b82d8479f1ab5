"""The course-wide review: three questions for each lesson from 01 on, in the text beside."""

from pathlib import Path

from helpers.exercises.written import questions

QUESTIONS = questions(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))
