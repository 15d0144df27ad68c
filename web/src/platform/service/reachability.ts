const TIMEOUT_MS = 10_000;

/** Statuses of a reverse proxy that does not reach the service. */
const PROXY_STATUSES = [502, 503, 504];

/** Returns whether the service responds, by the URL of a script of the page, which needs no permission. */
export async function isServiceReachable(): Promise<boolean> {
  const script = document.querySelector<HTMLScriptElement>('script[type="module"][src]');
  if (!script) return true;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { status } = await fetch(script.src, { method: 'HEAD', cache: 'no-store', signal });
    return !PROXY_STATUSES.includes(status);
  } catch {
    return false;
  }
}
