/**
 * More threads for what Node cannot do in its own: above all lookups of host names, of which half
 * as many run at once as there are threads. With Node's four, two hosts whose DNS server does not
 * answer keep all others waiting.
 */

/** Eight lookups at once. A thread that has nothing to do costs some kilobytes. */
const threads = "16";

/** Called before anything uses the pool, because its first use starts all of its threads. */
export function enlargeThreadPool(): void {
  process.env["UV_THREADPOOL_SIZE"] ??= threads;
}
