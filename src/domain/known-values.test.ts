import { describe, expect, test } from "vitest";
import { KnownValues, type SeenValue } from "./known-values.ts";
import { tokensOf } from "./message-filter.ts";

const order: SeenValue = { key: "event", value: "Order Completed", count: 20 };

describe("what is known of the values", () => {
  test("a name goes on until an answer says that none does", () => {
    const nothing = new KnownValues();
    expect(nothing.goesOn("event", "Order c")).toBe(true);
    expect(nothing.goesOn("user", "u_1 c")).toBe(false);
    const known = nothing.with({ key: "event", text: "order" }, [order]);
    expect(known.goesOn("event", "Order c")).toBe(true);
    expect(known.goesOn("-event", "Order x")).toBe(false);
    expect(known.of({ key: "event", text: "order comp" }).isAnswered).toBe(true);
  });

  test("an answer that is not whole says nothing of what is written further", () => {
    const many = Array.from({ length: 20 }, (_, nth) => ({
      ...order,
      count: nth,
    }));
    const known = new KnownValues().with({ key: "event", text: "o" }, many);
    expect(known.of({ key: "event", text: "or" })).toEqual({ items: many, isAnswered: false });
    expect(known.of({ key: "event", text: "o" }).isAnswered).toBe(true);
  });

  test("each name is decided from its beginning, one after the other", () => {
    const draft = "source:shop web event:order completed -user:u_1";
    const shop: SeenValue = { key: "source", value: "Shop web", count: 3 };
    const first = new KnownValues();
    expect(first.undecided("user:u_1 cart")).toBeNull();
    expect(first.undecided(draft)).toEqual({ key: "source", text: "shop web" });
    const second = first.with({ key: "source", text: "shop web" }, [shop]);
    expect(second.undecided(draft)).toEqual({ key: "event", text: "order completed" });
    const third = second.with({ key: "event", text: "order completed" }, [order]);
    expect(third.undecided(draft)).toBeNull();
    expect(tokensOf(draft, third.goesOn).map(({ values }) => values)).toEqual([
      ["shop web"],
      ["order completed"],
      ["u_1"],
    ]);
  });

  test("a name goes on behind a comma as behind a space", () => {
    const hello: SeenValue = { key: "event", value: "Hello, World", count: 1 };
    const valuesOf = (text: string, known: KnownValues): string[][] =>
      tokensOf(text, known.goesOn).map(({ values }) => values);
    let known = new KnownValues();
    const text = "event:hello, world,cart -event:cart,order";
    for (let asked = known.undecided(text); asked !== null; asked = known.undecided(text))
      known = known.with(asked, asked.text.startsWith("hello") ? [hello] : []);
    expect(valuesOf(text, known)).toEqual([
      ["hello, world", "cart"],
      ["cart", "order"],
    ]);
  });
});
