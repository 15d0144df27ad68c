/** The identity of this page among the open pages of the browser, so that only one of them continues an upload. */
export interface PageIdentity {
  readonly id: string;
  /** Runs `work` once the page with this ID has ended, if it can be known. Pages that wait run one after another. */
  whenEnded(id: string, work: () => Promise<void>): void;
}

const PREFIX = 'holdall-page-';

/** Creates the identity of this page. A page holds a lock that ends with it, also when it crashes. */
export function createPageIdentity(): PageIdentity {
  const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
  // Without a secure origin, there are no locks.
  const { locks } = navigator as Partial<Navigator>;
  if (!locks) return identityOfTab(id);
  const forever = new Promise<void>(() => {});
  void locks.request(PREFIX + id, () => forever).catch(() => {});
  return {
    id,
    whenEnded(other, work) {
      void locks.request(PREFIX + other, work).catch(() => {});
    },
  };
}

/** Identifies the tab, which keeps its session storage after a reload: only its own earlier page is known to have ended. */
function identityOfTab(fresh: string): PageIdentity {
  let id = fresh;
  try {
    id = sessionStorage.getItem(PREFIX) ?? fresh;
    sessionStorage.setItem(PREFIX, id);
  } catch {
    // Without storage, there are no records either.
  }
  return {
    id,
    whenEnded(other, work) {
      if (other === id) void work().catch(() => {});
    },
  };
}
