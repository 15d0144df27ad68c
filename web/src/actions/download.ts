import type { Page } from '../page.ts';
import type { Entry } from '../service/service.ts';

/** Milliseconds between two downloads: browsers pass over those that come at once. */
const PAUSE = 300;

/** The most files at once: nobody can take back what the browser has begun. */
const LIMIT = 100;

/** Has the browser download the files among the entries, each as a file of its own; says so where they are too many. */
export function download({ urls, messages, language }: Page, entries: readonly Entry[]): void {
  const files = entries.filter(({ type }) => type === 'file');
  if (files.length > LIMIT) {
    messages.say({ kind: 'error', text: language.value.text.clipboard.tooManyDownloads(files.length, LIMIT) });
    return;
  }
  for (const [index, { path }] of files.entries()) {
    setTimeout(() => follow(urls.download(path)), index * PAUSE);
  }
}

function follow(url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = '';
  link.click();
}
