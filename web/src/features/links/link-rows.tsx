import type { Link } from '../../platform/service/links.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Icon } from '../../ui/icon.tsx';
import { MenuButton } from '../../ui/menus.tsx';
import { Name } from '../folder/entry-parts.tsx';
import { useAccount } from '../models.ts';
import { type LinkActions, useLinkActions } from './link-actions.ts';
import { describeAccess, describeLastUse, describeState, describeUse } from './link-descriptions.ts';

/** The links of one item, with their state and use. */
export function LinkRows({ links }: { links: readonly Link[] }) {
  const { text } = useFullLanguage();
  const actions = useLinkActions();
  return (
    <ul aria-label={text.links.existing}>
      {links.map((link) => (
        <LinkRow key={link.id} link={link} actions={actions} />
      ))}
    </ul>
  );
}

function LinkRow({ link, actions }: { link: Link; actions: LinkActions }) {
  const language = useFullLanguage();
  const account = useAccount();
  const { text } = language;
  const access = describeAccess(link, text);
  const { label, creator } = link;
  const isOwn = creator === undefined || creator === account?.username.value;
  const facts = [
    label === undefined ? undefined : access,
    link.active && link.expiresAt === undefined ? undefined : describeState(link, language),
    link.hasPassword ? text.links.hasPassword : undefined,
    describeUse(link, text),
    describeLastUse(link, language),
    isOwn ? undefined : text.links.createdBy({ name: creator }),
  ];
  const groups = () => [
    [{ id: 'edit', icon: 'rename', label: text.links.edit, run: () => void actions.edit(link) } as const],
    [
      {
        id: 'revoke',
        icon: 'delete',
        label: text.links.revoke,
        isDangerous: true,
        run: () => void actions.revoke([link]),
      } as const,
    ],
  ];
  return (
    <li class={link.active ? '' : 'inactive'}>
      <Icon name="link" />
      <div>
        <span>{label === undefined ? access : <Name of={label} />}</span>
        <span class="secondary numbers">{facts.filter((fact) => fact !== undefined).join(' · ')}</span>
      </div>
      <MenuButton icon="more" label={text.folder.more({ name: label ?? access })} groups={groups} />
    </li>
  );
}
