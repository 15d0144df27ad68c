/**
 * Resolves in a later task, so that long work does not block input and drawing. Unlike timers, browsers don't delay it in
 * pages that are hidden.
 */
export function nextTask(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener('message', () => {
    port1.close();
    resolve();
  });
  port1.start();
  port2.postMessage(null);
  return promise;
}
