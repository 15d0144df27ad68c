import type { ReadonlySignal } from '@preact/signals';
import { isPageReplaced } from '../platform/embedded.ts';
import type { Language } from '../platform/text/language.ts';
import type { Messages } from './messages.ts';

interface Telling {
  readonly messages: Messages;
  readonly language: ReadonlySignal<Language>;
}

/** Says that code could not be loaded, and what helps: a new page where it was replaced, else `retry`. Never throws. */
export async function tellNotLoaded({ messages, language }: Telling, retry?: () => void): Promise<void> {
  const isReplaced = await isPageReplaced();
  const { problems, controls } = language.value.text;
  messages.say({
    kind: 'error',
    text: isReplaced ? problems.replaced : problems.unreachable,
    ...(isReplaced && { action: { label: controls.reload, run: () => window.location.reload() } }),
    ...(!isReplaced && retry && { action: { label: controls.retry, run: retry } }),
  });
}
