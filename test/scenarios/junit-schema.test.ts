import { describe, expect, test } from "vitest";
import { wrongWithJunit } from "./junit-schema.ts";

const good = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
<testsuite package="a.yaml" id="0" name="A" timestamp="2026-11-21T09:00:00" hostname="ci" tests="1" failures="1" errors="0" skipped="0" time="0.120">
<properties><property name="seed" value="1"/></properties>
<testcase name="1. expect" classname="A" time="0.100"><failure message="no" type="expectation">why &amp; how</failure></testcase>
<system-out></system-out><system-err></system-err>
</testsuite>
</testsuites>
`;

describe("the check of JUnit XML", () => {
  test("takes a document as it should be", () => {
    expect(wrongWithJunit(good)).toEqual([]);
  });

  test.each([
    ["a missing attribute", 'hostname="ci" ', "", "testsuite lacks hostname"],
    [
      "a time with a zone",
      "09:00:00",
      "09:00:00Z",
      'testsuite has timestamp="2026-11-21T09:00:00Z"',
    ],
    [
      "an unknown attribute",
      'classname="A" ',
      'classname="A" line="3" ',
      'testcase may not have line="3"',
    ],
    ["a wrong count", 'failures="1"', 'failures="0"', "failures is 0, and there are 1"],
    [
      "a wrong order",
      "<system-out></system-out><system-err></system-err>",
      "<system-err></system-err><system-out></system-out>",
      "testsuite has 0 system-out",
    ],
    [
      "an unknown element",
      '<property name="seed" value="1"/>',
      "<seed/>",
      "properties has seed in a wrong place",
    ],
  ])("refuses %s", (_, part, instead, wrong) => {
    expect(wrongWithJunit(good.replace(part, instead))).toContain(wrong);
  });

  test.each([
    ["a bare ampersand", "&amp;", "&"],
    ["a control character", "why", "\u0007"],
    ["an element that is not closed", "</failure>", ""],
    ["a quote in an attribute", 'name="A"', 'name="A"B"'],
    ["half a character", "why", "\ud83d"],
  ])("throws at %s", (_, part, instead) => {
    expect(() => wrongWithJunit(good.replace(part, instead))).toThrow(
      /entity|allow|closes|There is no tag/,
    );
  });
});
