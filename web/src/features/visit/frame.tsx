import type { ComponentChildren } from 'preact';
import { reportLoadFailure } from '../../model/messages.ts';
import { useLanguageSignal } from '../../platform/text/language.ts';
import { DialogHost } from '../../ui/dialogs.tsx';
import { Sprite } from '../../ui/icon.tsx';
import { MenuHost } from '../../ui/menu-host.tsx';
import { MessageList } from '../messages/message-list.tsx';
import { useMessages } from '../models.ts';

/** What a page of a visitor consists of in addition to its content: icons, messages, dialogs and menus. */
export function Frame({ children }: { children: ComponentChildren }) {
  const messages = useMessages();
  const language = useLanguageSignal();
  return (
    <>
      <Sprite />
      {children}
      <div class="floating">
        <MessageList />
      </div>
      <DialogHost />
      <MenuHost onNotLoaded={() => void reportLoadFailure({ messages, language })} />
    </>
  );
}
