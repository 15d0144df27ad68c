import { ICONS, type IconName } from './icons.ts';

/** An icon of the sprite. It says nothing to those who don't see it: what it stands for is said in words beside it. */
export function Icon({ name, class: className = '' }: { name: IconName; class?: string }) {
  return (
    <svg class={`icon ${className}`} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <use href={`#icon-${name}`} />
    </svg>
  );
}

/** Every icon once, for the others to refer to. */
export function Sprite() {
  return (
    <svg class="visually-hidden" aria-hidden="true">
      {Object.entries(ICONS).map(([name, path]) => (
        <symbol key={name} id={`icon-${name}`} viewBox="0 0 20 20">
          <path d={path} />
        </symbol>
      ))}
    </svg>
  );
}
