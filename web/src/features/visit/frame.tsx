import type { ComponentChildren } from 'preact';
import { DialogHost } from '../../ui/dialogs.tsx';
import { Sprite } from '../../ui/icon.tsx';
import { MenuHost } from '../../ui/menu-host.tsx';
import { MessageList } from '../messages/message-list.tsx';

/** What a page of a visitor consists of in addition to its content: icons, messages, dialogs and menus. */
export function Frame({ children }: { children: ComponentChildren }) {
  return (
    <>
      <Sprite />
      {children}
      <div class="floating">
        <MessageList />
      </div>
      <DialogHost />
      <MenuHost />
    </>
  );
}
