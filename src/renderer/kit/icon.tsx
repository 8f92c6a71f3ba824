/**
 * Line icons on a 16 px grid. They carry no meaning of their own: a word or a label is always
 * beside them.
 */

import type { ReactNode } from "react";

const shapes = {
  live: <path d="M1.5 8h3l2-5 3 10 2-5h3" />,
  flow: (
    <>
      <path d="M1.5 4h3.2c3.4 0 3.2 8 6.6 8h.5M1.5 8h10.3M1.5 12h3.2c.9 0 1.5-.5 2-1.3M9 5.3c.5-.8 1.2-1.3 2.3-1.3h.5" />
      <circle cx="13.2" cy="4" r="1.3" />
      <circle cx="13.2" cy="8" r="1.3" />
      <circle cx="13.2" cy="12" r="1.3" />
    </>
  ),
  list: <path d="M2 3.5h12M2 8h12M2 12.5h12" />,
  retries: (
    <>
      <path d="M13.5 8a5.5 5.5 0 1 1-1.7-4" />
      <path d="M13.7 1.8v2.9h-2.9" />
      <path d="M8 5v3l2 1.3" />
    </>
  ),
  sources: (
    <>
      <path d="M9 2.5h3.5a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H9" />
      <path d="M2 8h7.5M7 5.3L9.7 8 7 10.7" />
    </>
  ),
  destinations: (
    <>
      <path d="M7 2.5H3.5a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1H7" />
      <path d="M6 8h8M11.3 5.3L14 8l-2.7 2.7" />
    </>
  ),
  endpoints: (
    <>
      <circle cx="8" cy="8" r="5.8" />
      <circle cx="8" cy="8" r="2.2" />
      <path d="M8 .8v3M8 12.2v3M.8 8h3M12.2 8h3" />
    </>
  ),
  clients: <path d="M5.2 4.5L1.8 8l3.4 3.5M10.8 4.5L14.2 8l-3.4 3.5M9 3L7 13" />,
  profiles: (
    <>
      <circle cx="8" cy="5.2" r="2.7" />
      <path d="M2.8 13.8c.5-3 2.5-4.3 5.2-4.3s4.7 1.3 5.2 4.3" />
    </>
  ),
  audiences: (
    <>
      <circle cx="6" cy="8" r="4.5" />
      <circle cx="10" cy="8" r="4.5" />
    </>
  ),
  deletions: <path d="M2.5 4h11M6 4V2.3h4V4M4 4l.6 9.7h6.8L12 4M6.7 6.7v4.2M9.3 6.7v4.2" />,
  scenarios: (
    <path d="M2 3.5l1.2 1.2L5.3 2.5M2 8.2l1.2 1.2 2.1-2.2M2 12.9l1.2 1.2 2.1-2.2M8 3.7h6M8 8.4h6M8 13.1h6" />
  ),
  receivers: (
    <>
      <path d="M8 1.8l5.2 1.9v4c0 3.4-2.2 5.6-5.2 6.7-3-1.1-5.2-3.3-5.2-6.7v-4z" />
      <path d="M5.6 8.1l1.8 1.8 3.2-3.6" />
    </>
  ),
  stop: <rect x="4" y="4" width="8" height="8" rx="1" fill="currentColor" />,
  settings: (
    <>
      <path d="M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6" />
      <circle cx="10" cy="4.5" r="1.9" />
      <circle cx="6" cy="11.5" r="1.9" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.3" />
      <path d="M10.3 10.3l3.4 3.4" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M3.5 10.5h-.2a.8.8 0 0 1-.8-.8V3.3a.8.8 0 0 1 .8-.8h6.4a.8.8 0 0 1 .8.8v.2" />
    </>
  ),
  close: <path d="M4 4l8 8M12 4l-8 8" />,
  add: <path d="M8 3v10M3 8h10" />,
  fewer: <path d="M3 8h10" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2.4" />,
  grip: <path d="M6 4h.01M10 4h.01M6 8h.01M10 8h.01M6 12h.01M10 12h.01" strokeWidth="2.2" />,
  down: <path d="M4.5 6.5L8 10l3.5-3.5" />,
  back: <path d="M10 3.5L5.5 8l4.5 4.5" />,
  forward: <path d="M6 3.5L10.5 8 6 12.5" />,
  up: <path d="M8 13V3M4 7l4-4 4 4" />,
  check: <path d="M3 8.5l3.2 3.2L13 4.5" />,
  star: <path d="M8 2l1.8 3.8 4.1.5-3 2.9.8 4.1L8 11.3l-3.7 2 .8-4.1-3-2.9 4.1-.5z" />,
  pin: <path d="M6 2h4l-.4 4.2 2.4 2.3H4l2.4-2.3zM8 8.5V14" />,
  replay: (
    <>
      <path d="M2.5 8a5.5 5.5 0 1 0 1.7-4" />
      <path d="M2.3 1.8v2.9h2.9" />
    </>
  ),
  show: (
    <>
      <path d="M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8z" />
      <circle cx="8" cy="8" r="1.8" />
    </>
  ),
  step: (
    <>
      <path d="M3 3.5l6 4.5-6 4.5z" fill="currentColor" />
      <path d="M12.5 3.5v9" />
    </>
  ),
  advance: <path d="M2 4l4.7 4L2 12zM8.5 4l4.7 4-4.7 4z" fill="currentColor" strokeWidth="1" />,
  rewind: (
    <>
      <path d="M13 3.5L7 8l6 4.5z" fill="currentColor" />
      <path d="M3.5 3.5v9" />
    </>
  ),
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" strokeWidth="2" />,
  send: <path d="M3.5 2.8l9 5.2-9 5.2z" fill="currentColor" />,
  save: <path d="M8 2.5v7.5M4.8 7L8 10.2 11.2 7M2.5 13.5h11" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof shapes;

export function Icon({ name, small = false }: { name: IconName; small?: boolean }) {
  return (
    <svg className={small ? "icon small" : "icon"} viewBox="0 0 16 16" aria-hidden="true">
      {shapes[name]}
    </svg>
  );
}
