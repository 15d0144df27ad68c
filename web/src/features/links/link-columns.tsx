import { parentOf } from '../../platform/paths.ts';
import type { Link } from '../../platform/service/links.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import { Name } from '../folder/entry-parts.tsx';
import type { ItemColumn } from '../items/item-grid.tsx';
import { describeAccess, describeLastUse, describeState, describeUse } from './link-descriptions.ts';

/** Returns the columns of the list of links. Without users, links have no creators. */
export function linkColumns(language: FullLanguage, hasUsers: boolean): readonly ItemColumn<Link>[] {
  const { text } = language;
  const { links } = text;
  return [
    { id: 'note', width: 12, rank: 4, title: links.label, cell: ({ label }) => nameCell(label) },
    {
      id: 'origin',
      width: 9,
      rank: 6,
      title: text.types.folder,
      cell: ({ path }) => nameCell(path === '' ? undefined : folderName(parentOf(path), text)),
    },
    {
      id: 'access',
      width: 12,
      rank: 2,
      title: links.accessColumn,
      cell(link) {
        const access = describeAccess(link, text);
        const content = link.hasPassword ? `${access} · ${links.hasPassword}` : access;
        return { content, title: content };
      },
    },
    {
      id: 'expiry numbers',
      width: 10,
      rank: 1,
      title: links.expiry,
      cell: (link) => expiryCell(link, language),
    },
    {
      id: 'uses numbers',
      width: 9,
      rank: 3,
      title: links.usesColumn,
      cell(link) {
        const use = describeUse(link, text);
        const lastUse = describeLastUse(link, language);
        return { content: use, title: lastUse === undefined ? use : `${use} · ${lastUse}` };
      },
    },
    ...(hasUsers
      ? [
          {
            id: 'creator',
            width: 8,
            rank: 5,
            title: links.creator,
            cell: ({ creator }: Link) => nameCell(creator),
          },
        ]
      : []),
  ];
}

/** Shows what narrow windows have no columns for. */
export function LinkSummary({ link }: { link: Link }) {
  const language = useFullLanguage();
  return (
    <>
      {`${describeAccess(link, language.text)} · ${describeState(link, language)}`}
      {link.label !== undefined && (
        <>
          {' · '}
          <Name of={link.label} />
        </>
      )}
    </>
  );
}

const nameCell = (name: string | undefined) => ({ content: name === undefined ? '' : <Name of={name} />, title: name });

/** Shows when a link expires, or why visitors can't use it. */
function expiryCell(link: Link, language: FullLanguage): ReturnType<ItemColumn<Link>['cell']> {
  const { text, formats } = language;
  const time = link.expiresAt === undefined ? undefined : new Date(link.expiresAt);
  const exactly = time && formats.exactTime(time);
  if (link.active) return { content: time ? formats.time(time) : text.links.never, title: exactly };
  const reason = describeState(link, language);
  return { content: <span class="inactive">{reason}</span>, title: exactly ? `${reason} (${exactly})` : reason };
}
