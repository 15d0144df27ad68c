/* The types of a service worker that this project uses. The library of TypeScript for workers conflicts with that of pages. */

interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}

export interface InstallEvent extends ExtendableEvent {
  /** Chromium: the requests that pass the worker by. */
  addRoutes?(routes: readonly object[]): Promise<void>;
}

export interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  readonly preloadResponse: Promise<Response | undefined>;
  respondWith(response: Promise<Response>): void;
}

interface Events {
  readonly install: InstallEvent;
  readonly activate: ExtendableEvent;
  readonly fetch: FetchEvent;
}

export interface ServiceWorkerScope {
  readonly registration: ServiceWorkerRegistration;
  skipWaiting(): Promise<void>;
  addEventListener<Type extends keyof Events>(type: Type, listener: (event: Events[Type]) => void): void;
}

/** Returns the prefix of the names of the caches. Several services can have one origin, below different paths. */
export function cachePrefix({ registration }: ServiceWorkerScope): string {
  return `holdall ${new URL(registration.scope).pathname} `;
}

/** Deletes the caches of the worker, except the one that is kept. */
export async function deleteCaches(scope: ServiceWorkerScope, kept?: string): Promise<void> {
  const names = await caches.keys();
  const outdated = names.filter((name) => name.startsWith(cachePrefix(scope)) && name !== kept);
  await Promise.all(outdated.map((name) => caches.delete(name)));
}
