import type { ReadonlySignal } from '@preact/signals';
import { type Messages, reportLoadFailure } from '../../model/messages.ts';
import { completeLanguage, type FullLanguage, type Language } from '../../platform/text/language.ts';

/** What is necessary to load code, and to report a failure. */
export interface LoadContext {
  readonly messages: Messages;
  readonly language: ReadonlySignal<Language>;
}

/** Loads code and all texts, and runs it. Never throws: shows a message with a button to retry if that fails. */
export async function withLoaded<Code>(
  context: LoadContext,
  load: () => Promise<Code>,
  run: (code: Code, language: ReadonlySignal<FullLanguage>) => unknown,
): Promise<void> {
  try {
    const [code, language] = await Promise.all([load(), completeLanguage(context.language)]);
    await run(code, language);
  } catch {
    await reportLoadFailure(context, () => void withLoaded(context, load, run));
  }
}
