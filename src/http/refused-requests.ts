import type { App } from './service.ts';

/** Milliseconds between two lines. */
const INTERVAL = 10_000;

/** Clients that a line names. */
const MAX_CLIENTS = 5;

/**
 * Logs requests that are refused with 429: the first at once, then one line every ten seconds with how many there were
 * and a few of their clients. A client that sends too many must not fill the log. Call the result for each of them.
 */
export function countRefused(app: App): (client: string) => void {
  const clients = new Set<string>();
  let requests = 0;
  let timer: NodeJS.Timeout | undefined;

  const tell = () => {
    clearTimeout(timer);
    timer = undefined;
    if (requests === 0) return;
    app.log.info(
      { status: 429, requests, clients: [...clients] },
      'Requests were refused, as their clients sent too many.',
    );
    requests = 0;
    clients.clear();
    timer = setTimeout(tell, INTERVAL).unref();
  };
  app.addHook('onClose', async () => {
    tell();
    clearTimeout(timer);
  });

  return (client) => {
    requests++;
    if (clients.size < MAX_CLIENTS) clients.add(client);
    if (!timer) tell();
  };
}
