import type { Entry } from '../../platform/service/service.ts';
import type { ActionModels } from './action-models.ts';

/** Puts the addresses of entries into the clipboard, one a line: of files their bytes, of folders their page. */
export async function copyLinks({ urls, messages, language }: ActionModels, entries: readonly Entry[]): Promise<void> {
  const { text } = language.value;
  const links = entries.map((entry) => (entry.type === 'folder' ? urls.page(entry.path) : urls.file(entry.path)));
  try {
    await navigator.clipboard.writeText(links.join('\n'));
    messages.say({ kind: 'done', text: text.clipboard.linksCopied({ count: links.length }) });
  } catch {
    // Forbidden, or without HTTPS, where browsers have no clipboard to give.
    messages.say({ kind: 'error', text: text.clipboard.linksNotCopied, detail: links.join('\n') });
  }
}
