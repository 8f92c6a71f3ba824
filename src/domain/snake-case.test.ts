import fc from "fast-check";
import { expect, test } from "vitest";
import { snakeCase } from "./snake-case.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

test.each([
  ["Big Spenders", "big_spenders"],
  ["bigSpenders", "big_spenders"],
  ["  Big -- Spenders!  ", "big_spenders"],
  ["already_snake_case", "already_snake_case"],
  ["_leading__and_trailing_", "leading_and_trailing"],
  ["VIP's (EU), 2026", "vip_s_eu_2026"],
  ["Last 30 Days", "last_30_days"],
  ["last30days", "last30days"],
  ["Top10 Users", "top10_users"],
  ["iPhone15Users", "i_phone15users"],
  ["HTTPServer", "httpserver"],
  ["myHTTPServer", "my_httpserver"],
  ["B2BUsers", "b2busers"],
  ["usersEU", "users_eu"],
  ["users in the E.U.", "users_in_the_e_u"],
  ["2026", "2026"],
  ["3DModels 4U", "3dmodels_4u"],
  ["v2.0-beta", "v2_0_beta"],
  ["٣ طلبات", "٣_طلبات"],
  ["“Quoted” – and… more", "quoted_and_more"],
  ["a.b/c:d|e", "a_b_c_d_e"],
  ["Over $100 & more", "over_100_more"],
  ["tab\tand\nline\u00a0break", "tab_and_line_break"],
  ["Größte Kunden", "größte_kunden"],
  ["größteKunden", "größte_kunden"],
  ["GROẞE KUNDEN", "große_kunden"],
  ["ÄußersteÜbung", "äußerste_übung"],
  ["Καλοί Πελάτες", "καλοί_πελάτες"],
  ["λίσταΠελατών", "λίστα_πελατών"],
  ["ΟΔΟΣ", "οδος"],
  ["高价值 用户", "高价值_用户"],
  ["高价值用户2026", "高价值用户2026"],
  ["高价值VIP用户", "高价值vip用户"],
  ["“高价值”，用户！", "高价值_用户"],
  ["Клиенты Москвы", "клиенты_москвы"],
  ["हिन्दी ग्राहक", "हिन्दी_ग्राहक"],
  ["Fans ❤️ of 🍕", "fans_of"],
  ["Top 1️⃣ fans", "top_1_fans"],
  ["🎉🎉", ""],
  ["❤️", ""],
  ["👩‍👩‍👧 🇩🇪", ""],
  ["-\u0301a", "a"],
  ["J\u030c", "\u01f0"],
  ["--- !!!", ""],
  ["", ""],
])("%j becomes %j", (name, expected) => {
  expect(snakeCase(name)).toBe(expected.normalize("NFC"));
});

test("a very long name keeps all its words", () => {
  expect(snakeCase("Big Spenders ".repeat(10_000))).toBe(
    Array.from({ length: 10_000 }, () => "big_spenders").join("_"),
  );
  expect(snakeCase("x".repeat(100_000))).toBe("x".repeat(100_000));
  expect(snakeCase(" -!".repeat(100_000))).toBe("");
  expect(snakeCase(`a${"\u0301".repeat(200)}B`)).toMatch(/_b$/);
});

test("two spellings of one letter give one key", () => {
  expect(snakeCase("Cafe\u0301 Gäste")).toBe(snakeCase("Café Gäste"));
});

test("a key has no leading, trailing or doubled underscore, no upper case, and is its own key", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "grapheme" }),
        fc.string({ unit: anyCharacter }),
        fc.stringMatching(/^[aA1_ é]*$/),
      ),
      (name) => {
        const key = snakeCase(name);
        expect(key).not.toMatch(/^_|_$|__/);
        expect(key).toBe(key.toLowerCase());
        expect(snakeCase(key)).toBe(key);
      },
    ),
    { numRuns: 500 },
  );
});
