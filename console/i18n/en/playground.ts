export const playground = {
  title: 'Playground',
  text: 'Send to a simulated phone and see it arrive. Nothing of your instances and your plan is used.',
  left: '{{remaining}} of {{limit}} sends are left today.',
  off: 'This installation offers no playground.',
  phone: 'Simulated phone',
  nothing: 'Your messages arrive here.',
  onItsWay: 'On its way …',
};
