import type { ReadonlySignal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Account } from './access/account.ts';
import type { Rights } from './access/rights.ts';
import type { Changes } from './changes/changes.ts';
import type { Clipboard } from './changes/clipboard.ts';
import type { Dialogs } from './controls/dialogs.ts';
import type { Menus } from './controls/menus.ts';
import type { Details } from './details/details.ts';
import type { Dragging } from './dragging/dragging.ts';
import type { Folder } from './folder/folder.ts';
import type { Location } from './location.ts';
import type { Messages } from './messages/messages.ts';
import type { Preferences } from './preferences.ts';
import type { Selection } from './selection/selection.ts';
import type { Service } from './service/service.ts';
import type { Urls } from './service/urls.ts';
import type { Language } from './text/language.ts';
import type { Uploads } from './uploads/uploads.ts';

/** All that the page knows and can do, made once; components take from it what they need. */
export interface Page {
  readonly urls: Urls;
  readonly service: Service;
  readonly preferences: Preferences;
  readonly language: ReadonlySignal<Language>;
  readonly location: Location;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly clipboard: Clipboard;
  readonly changes: Changes;
  readonly uploads: Uploads;
  readonly dragging: Dragging;
  readonly details: Details;
  readonly messages: Messages;
  readonly dialogs: Dialogs;
  readonly menus: Menus;
  /** What may be done. */
  readonly rights: Rights;
  /** Who uses the page; null where there is nobody to be. */
  readonly account: Account | null;
}

const PageContext = createContext<Page | null>(null);
export const PageProvider = PageContext.Provider;

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error('A component was drawn outside of the page.');
  return page;
}
