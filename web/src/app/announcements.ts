import { effect, untracked } from '@preact/signals';
import { refreshProblem } from '../features/folder/problem-titles.ts';
import type { Page } from './create-page.ts';

/** The delay before a count is announced that changes while the user types or selects. */
const COUNT_DELAY_MS = 500;

/** Announces changes outside of the focused element to screen readers, for the lifetime of the page. */
export function announceChanges({ folder, selection, messages, language }: Page): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const announceLater = (words: () => string) => {
    clearTimeout(timer);
    timer = setTimeout(() => messages.announce(words()), COUNT_DELAY_MS);
  };

  onChange(
    () => folder.filter.value.trim(),
    (filter) => {
      if (filter === '') return;
      announceLater(() =>
        language.peek().text.folder.filtered({ shown: folder.entries.peek().length, all: folder.count.peek() }),
      );
    },
  );
  onChange(
    () => selection.count.value,
    (count) => {
      // Screen readers read a single selected entry themselves.
      if (count > 1) announceLater(() => language.peek().text.shell.selected({ count }));
    },
  );
  onChange(
    () => refreshProblem(folder, language.value.text),
    (problem) => {
      if (problem !== undefined) messages.announce(problem);
    },
    // The problem can be older than this code, which loads after the page.
    { first: undefined },
  );
}

/** Calls `listener` with each new value of `read`, which reads signals; by default, not with the current value. */
function onChange<Value>(
  read: () => Value,
  listener: (value: Value) => void,
  { first }: { readonly first: Value } = { first: untracked(read) },
): void {
  let last = first;
  effect(() => {
    const value = read();
    if (value === last) return;
    last = value;
    untracked(() => listener(value));
  });
}
