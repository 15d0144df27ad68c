/** The other tabs and windows of this browser that show the same service. */
export interface OtherTabs {
  /** Tells them who signed in, or with null that somebody signed out. */
  tell(name: string | null): void;
}

/** Listens for as long as the page lives. `base`: the service's root, as several may share an origin. */
export function createOtherTabs(base: string, hear: (name: string | null) => void): OtherTabs {
  const channel = new BroadcastChannel(`holdall ${base}`);
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (data === null || typeof data === 'string') hear(data);
  });
  return {
    tell(name) {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin but its own.
      channel.postMessage(name);
    },
  };
}
