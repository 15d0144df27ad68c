import type { Page } from '../page.ts';
import type { Entry } from '../service/service.ts';

/** Milliseconds between two downloads: browsers pass over those that come at once. */
const PAUSE = 300;

/** Has the browser download the files among the entries, each as a file of its own. */
export function download({ urls }: Page, entries: readonly Entry[]): void {
  const files = entries.filter(({ type }) => type === 'file');
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
