import type { Dav } from '../../model/dav.ts';
import { canUnlock, findLock, isOwnLock } from '../../model/locks/locks.ts';
import { unlock } from '../../model/locks/unlock.ts';
import type { Lock } from '../../platform/service/locks.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import { timeOfDay } from '../../platform/text/time-of-day.ts';
import { Button } from '../../ui/button.tsx';
import { type Dialogs, useDialogs } from '../../ui/dialogs.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Confirmation } from '../dialogs/confirmation.tsx';
import { Name } from '../folder/entry-parts.tsx';
import { useAccount, useMessages, usePermissions, useService } from '../models.ts';
import './lock-notice.css';

/** Shows who has locked a file or folder, and lets the user unlock it. Shows nothing without a lock. */
export function LockNotice({ dav, path }: { dav: Dav; path: string }) {
  const service = useService();
  const dialogs = useDialogs();
  const messages = useMessages();
  const language = useFullLanguage();
  const unlocker = { account: useAccount(), permissions: usePermissions() };
  const lock = findLock(dav.locks.value, path);
  if (!lock) return null;
  const { text } = language;
  const confirmAndUnlock = async () => {
    if (await confirmUnlocking(dialogs, lock)) await unlock({ dav, service, messages, language }, lock);
  };
  return (
    <section class="lock-notice" aria-label={text.locks.badge}>
      <Icon name="lock" />
      <div>
        <p>{describeLock(lock, isOwnLock(lock, unlocker), language)}</p>
        {lock.path !== path && <p class="secondary">{text.locks.byFolder({ folder: folderName(lock.path, text) })}</p>}
        {lock.owner !== undefined && lock.owner !== lock.user && (
          <p class="secondary">
            <Name of={lock.owner} />
          </p>
        )}
      </div>
      {canUnlock(lock, unlocker) && <Button onClick={() => void confirmAndUnlock()}>{text.locks.unlock}</Button>}
    </section>
  );
}

function describeLock({ user, expiresAt }: Lock, isOwn: boolean, { text, formats }: FullLanguage): string {
  const time = timeOfDay(formats, new Date(expiresAt));
  if (isOwn) return text.locks.byYou({ time });
  return user === undefined ? text.locks.until({ time }) : text.locks.by({ name: user, time });
}

function confirmUnlocking(dialogs: Dialogs, lock: Lock): Promise<true | null> {
  return dialogs.open<true>((close) => <UnlockDialog lock={lock} close={close} />);
}

function UnlockDialog({ lock: { path }, close }: { lock: Lock; close: (answer: true | null) => void }) {
  const { text } = useFullLanguage();
  return (
    <Confirmation
      title={text.locks.unlockTitle({ name: folderName(path, text) })}
      details={[text.locks.unlockHint]}
      verb={text.locks.unlock}
      close={close}
    />
  );
}
