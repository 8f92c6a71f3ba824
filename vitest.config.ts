import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // Real sockets and child processes on a machine that others share: a test that fails there once has one more try. Not at home, where it must be looked at.
    retry: process.env["CI"] === undefined ? 0 : 1,
    // Every file has its own real sockets and stores; two at a time is what a small machine carries.
    maxWorkers: 2,
  },
});
