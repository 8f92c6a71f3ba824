import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // Every file has its own real sockets and stores; two at a time is what a small machine carries.
    maxWorkers: 2,
  },
});
