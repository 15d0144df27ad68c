import { effect, untracked } from '@preact/signals';
import { refreshProblem } from '../features/toolbar/problem-banner.tsx';
import type { Page } from './page.ts';

/** Milliseconds of rest before a number is read out that changes while a person types or selects. */
const REST = 500;

/** Reads out what changes on the page beside what is focused, until the function that it gives is called. */
export function keepAnnouncing(page: Page): () => void {
  const { folder, selection, messages, language } = page;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const sayLater = (words: () => string) => {
    clearTimeout(timer);
    timer = setTimeout(() => messages.announce(words()), REST);
  };

  const endings = [
    onChange(
      () => folder.filter.value.trim(),
      (filter) => {
        if (filter === '') return;
        sayLater(() =>
          language.peek().text.folder.filtered({ shown: folder.entries.peek().length, all: folder.count.peek() }),
        );
      },
    ),
    onChange(
      () => selection.count.value,
      (count) => {
        // Of a single one, the list itself tells.
        if (count > 1) sayLater(() => language.peek().text.shell.selected({ count }));
      },
    ),
    onChange(
      () => refreshProblem(folder, language.value.text),
      (problem) => {
        if (problem !== undefined) messages.announce(problem);
      },
    ),
    () => clearTimeout(timer),
  ];
  return () => {
    for (const end of endings) end();
  };
}

/** Calls `tell` with every new value that `look` sees in signals; the first one is no news. */
function onChange<Value>(look: () => Value, tell: (value: Value) => void): () => void {
  let last = untracked(look);
  return effect(() => {
    const value = look();
    if (value === last) return;
    last = value;
    untracked(() => tell(value));
  });
}
