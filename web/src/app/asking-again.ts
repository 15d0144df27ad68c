import { effect } from '@preact/signals';
import type { Folder } from '../model/folder/folder.ts';

/** Milliseconds before a folder is read again: the first pause, which doubles, and the longest. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;

/**
 * Reads a folder again that could not be, until it can: after growing pauses while the page is seen, and when the
 * browser is back on the network. What the service refuses for good is left as it is. Goes on until the function that
 * it gives is called.
 */
export function keepAsking(folder: Folder): () => void {
  const listening = new AbortController();
  const { signal } = listening;
  let pause = FIRST_PAUSE;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const mayPass = () => folder.problem.value?.isTransient ?? false;
  const ask = () => {
    if (mayPass()) void folder.refresh({ quietly: true });
  };
  const askLater = () => {
    clearTimeout(timer);
    const problem = folder.problem.value;
    if (!problem || !mayPass() || document.hidden) return;
    timer = setTimeout(ask, Math.max(pause, (problem.retryAfter ?? 0) * 1_000));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  };

  const end = effect(() => {
    if (folder.problem.value === null) pause = FIRST_PAUSE;
    askLater();
  });
  window.addEventListener('online', ask, { signal });
  document.addEventListener(
    'visibilitychange',
    () => {
      pause = FIRST_PAUSE;
      askLater();
    },
    { signal },
  );
  return () => {
    end();
    clearTimeout(timer);
    listening.abort();
  };
}
