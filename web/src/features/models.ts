import type { Signal } from '@preact/signals';
import type { Account } from '../model/account/account.ts';
import type { Permissions } from '../model/account/permissions.ts';
import type { Changes } from '../model/changes/changes.ts';
import type { Clipboard } from '../model/clipboard.ts';
import type { Dav } from '../model/dav.ts';
import type { Folder } from '../model/folder/folder.ts';
import type { Links } from '../model/links/links.ts';
import type { Messages } from '../model/messages.ts';
import type { Places } from '../model/places/places.ts';
import type { Selection } from '../model/selection.ts';
import type { Uploads } from '../model/uploads/uploads.ts';
import type { Visit } from '../model/visit/visit.ts';
import type { Embedded } from '../platform/embedded.ts';
import type { Preferences } from '../platform/preferences.ts';
import { createRequiredContext } from '../platform/required-context.ts';
import type { Router } from '../platform/router.ts';
import type { FeedChange } from '../platform/service/changes.ts';
import type { Service } from '../platform/service/service.ts';
import type { Urls } from '../platform/service/urls.ts';

/*
 * The models that components use, one context each: a component shows in its first lines what it depends on. The page
 * creates each model once (`app/create-page.ts`) and provides it (`app/app.tsx`).
 */

/** The panel that shows the properties of the selection. */
export interface Details {
  readonly isOpen: Signal<boolean>;
  /** Called with each change of the feed, or with undefined if changes can be missing. */
  readonly feedListeners: Set<(change: FeedChange | undefined) => void>;
}

/** What the service keeps of deleted and replaced files. */
export type Retention = Pick<Embedded, 'trash' | 'keepsVersions'>;

export const [useUrls, UrlsProvider] = createRequiredContext<Urls>('URLs');
export const [useService, ServiceProvider] = createRequiredContext<Service>('the service');
export const [usePreferences, PreferencesProvider] = createRequiredContext<Preferences>('preferences');
export const [useRetention, RetentionProvider] = createRequiredContext<Retention>('the retention');
/** The kinds of files that have thumbnails in addition to images. */
export const [useStills, StillsProvider] = createRequiredContext<Embedded['stills']>('the stills');
export const [useRouter, RouterProvider] = createRequiredContext<Router>('the router');
export const [useFolder, FolderProvider] = createRequiredContext<Folder>('the folder');
export const [useSelection, SelectionProvider] = createRequiredContext<Selection>('the selection');
export const [useClipboard, ClipboardProvider] = createRequiredContext<Clipboard>('the clipboard');
export const [useChanges, ChangesProvider] = createRequiredContext<Changes>('changes');
export const [useUploads, UploadsProvider] = createRequiredContext<Uploads>('uploads');
export const [useDetails, DetailsProvider] = createRequiredContext<Details>('details');
export const [useMessages, MessagesProvider] = createRequiredContext<Messages>('messages');
export const [usePermissions, PermissionsProvider] = createRequiredContext<Permissions>('permissions');
/** The favourites and recent files; null on the pages of visitors. */
export const [usePlaces, PlacesProvider] = createRequiredContext<Places | null>('places');
/** The user's share links; null if users can't share files and folders by links. */
export const [useLinks, LinksProvider] = createRequiredContext<Links | null>('links');
/** WebDAV and its locks; null if there are no locks, and on the pages of visitors. */
export const [useDav, DavProvider] = createRequiredContext<Dav | null>('WebDAV');
/** The visit of a share link; null on the pages of users. */
export const [useVisit, VisitProvider] = createRequiredContext<Visit | null>('the visit');
/** The account; null without access control. */
export const [useAccount, AccountProvider] = createRequiredContext<Account | null>('the account');
