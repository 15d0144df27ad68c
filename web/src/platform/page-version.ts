/** Milliseconds. */
const PATIENCE = 10_000;

/**
 * Whether the service has another version of the page by now. Of this one, what was not loaded yet is gone: the names
 * of code tell its contents.
 */
export async function isPageReplaced(): Promise<boolean> {
  const script = document.querySelector<HTMLScriptElement>('script[type="module"][src]');
  if (!script) return false;
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const { status } = await fetch(script.src, { method: 'HEAD', cache: 'no-store', signal });
    return status === 404;
  } catch {
    return false;
  }
}
