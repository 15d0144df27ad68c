import type { App } from './service.ts';

/** Milliseconds between two log lines. */
const INTERVAL = 10_000;

/** Maximum number of clients that a line names. */
const MAX_CLIENTS = 5;

/**
 * Logs requests that are refused with 429: the first one at once, then one line per ten seconds with their number and
 * some clients. A client that sends too many requests must not flood the log. Call the returned function for each
 * refused request.
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
