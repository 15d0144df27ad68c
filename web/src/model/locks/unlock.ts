import { type Lock, releaseLock } from '../../platform/service/locks.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import type { Dav } from '../dav.ts';
import type { Messages } from '../messages.ts';

interface UnlockContext {
  readonly dav: Pick<Dav, 'locks' | 'changes'>;
  readonly service: Pick<Service, 'send'>;
  readonly messages: Pick<Messages, 'show'>;
  readonly language: FullLanguage;
}

/** Ends a lock, and shows a message. Never throws. */
export async function unlock({ dav, service, messages, language }: UnlockContext, lock: Lock): Promise<void> {
  const { text } = language;
  const name = folderName(lock.path, text);
  try {
    await releaseLock(service, lock.id);
  } catch (thrown) {
    const error = asServiceError(thrown);
    // The lock has ended in the meantime.
    if (!error.isNotFound) {
      messages.show({ kind: 'error', text: text.locks.notUnlocked({ name }), detail: language.reasonOf(error) });
      return;
    }
  }
  dav.locks.value = dav.locks.value.filter(({ id }) => id !== lock.id);
  dav.changes.value++;
  messages.show({ kind: 'done', text: text.locks.unlocked({ name }) });
}
