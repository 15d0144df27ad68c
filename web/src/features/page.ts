import type { ReadonlySignal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Account } from '../model/account/account.ts';
import type { Rights } from '../model/account/rights.ts';
import type { Changes } from '../model/changes/changes.ts';
import type { Clipboard } from '../model/clipboard.ts';
import type { Dialogs } from '../ui/dialogs.ts';
import type { Menus } from '../ui/menus.ts';
import type { Details } from '../model/details.ts';
import type { Dragging } from './dragging/dragging.ts';
import type { Folder } from '../model/folder/folder.ts';
import type { Location } from '../platform/router.ts';
import type { Messages } from '../model/messages.ts';
import type { Preferences } from '../platform/preferences.ts';
import type { Selection } from '../model/selection.ts';
import type { Service } from '../platform/service/service.ts';
import type { Urls } from '../platform/service/urls.ts';
import type { Language } from '../platform/text/language.ts';
import type { Uploads } from '../model/uploads/uploads.ts';

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
