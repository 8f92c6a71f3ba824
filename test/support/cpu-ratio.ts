/**
 * How many times the processor time of one thing another one takes, the least of three pairs: a
 * machine that is busy with other work makes both slower.
 */
export function cpuRatio(one: () => unknown, other: () => unknown): number {
  const spent = (run: () => unknown): number => {
    const before = process.cpuUsage();
    for (let times = 0; times < 10; times += 1) run();
    const { user, system } = process.cpuUsage(before);
    return Math.max(user + system, 100);
  };
  return Math.min(...Array.from({ length: 3 }, () => spent(one) / spent(other)));
}
